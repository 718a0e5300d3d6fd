#define _GNU_SOURCE
#include "pool.h"

#include <stdlib.h>  // tells whether the C library is glibc

#if defined(__linux__) && defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Sizes that come from the pool. The C library serves smaller ones well, and gives larger ones back to the kernel.
#define LEAST ((size_t)64 << 10)
#define MOST ((size_t)256 << 20)
// How much freed memory is kept for later allocations.
#define KEPT ((size_t)512 << 20)
// Addresses that blocks are cut from, and the unit of their sizes: a block begins at a whole number of units.
#define REGION ((size_t)64 << 30)
#define UNIT ((size_t)64 << 10)
#define UNITS (REGION / UNIT)
// Blocks of this size or more are mapped by the large pages of the kernel, 2 MiB on x86-64, where it allows that: rows
// anywhere in tens of megabytes otherwise miss the processor's cache of addresses.
#define HUGE ((size_t)8 << 20)
// Classes of sizes: four to each power of two.
#define CLASSES 64

static struct {
  pthread_mutex_t lock;
  char *base;         // of the region; NULL: there is no pool
  size_t allocated;   // units that blocks have; they lie before the others
  uint8_t *class_of;  // of the block that begins at a unit
  uint32_t *next;     // the next free block of its class, as the unit at which it begins, plus 1
  uint32_t free[CLASSES];
  uint32_t unmapped[CLASSES];  // free blocks whose memory the kernel has; they are used last
  uint64_t last_use[CLASSES];  // the clock at the class's last allocation
  uint64_t clock;              // counts allocations
  size_t blocks, used, kept;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

// size_of is the bytes of a size class's blocks: whole units.
static size_t size_of(int size_class) {
  size_t size = (size_t)(4 + size_class % 4) << (size_class / 4) << 14;
  return (size + UNIT - 1) / UNIT * UNIT;
}

// class_for is the least size class whose blocks have room.
static int class_for(size_t size) {
  int size_class = 0;
  while (size_of(size_class) < size) size_class++;
  return size_class;
}

// allocate returns the block that was freed last, of the smallest class with room for size bytes. It returns NULL if no
// more addresses are reserved.
static void *allocate(size_t size) {
  int size_class = class_for(size);
  size_t bytes = size_of(size_class), unit;
  pthread_mutex_lock(&pool.lock);
  pool.last_use[size_class] = ++pool.clock;
  if (pool.free[size_class]) {
    unit = pool.free[size_class] - 1;
    pool.free[size_class] = pool.next[unit];
    pool.kept -= bytes;
  } else if (pool.unmapped[size_class]) {
    unit = pool.unmapped[size_class] - 1;
    pool.unmapped[size_class] = pool.next[unit];
  } else {
    unit = pool.allocated;
    if (unit + bytes / UNIT > UNITS || mprotect(pool.base + unit * UNIT, bytes, PROT_READ | PROT_WRITE) != 0) {
      pthread_mutex_unlock(&pool.lock);
      return NULL;
    }
    if (bytes >= HUGE) madvise(pool.base + unit * UNIT, bytes, MADV_HUGEPAGE);  // where it is refused, nothing changes
    pool.allocated += bytes / UNIT;
    pool.class_of[unit] = (uint8_t)size_class;
  }
  pool.blocks++;
  pool.used += bytes;
  pthread_mutex_unlock(&pool.lock);
  return pool.base + unit * UNIT;
}

static int owns(const void *p) {
  return pool.base != NULL && (const char *)p >= pool.base && (const char *)p < pool.base + REGION;
}

// unmap_oldest gives the memory of a free block to the kernel: of the class whose last allocation is the oldest.
static void unmap_oldest(void) {
  int oldest = -1;
  for (int size_class = 0; size_class < CLASSES; size_class++) {
    if (pool.free[size_class] && (oldest < 0 || pool.last_use[size_class] < pool.last_use[oldest])) oldest = size_class;
  }
  size_t unit = pool.free[oldest] - 1, bytes = size_of(oldest);
  pool.free[oldest] = pool.next[unit];
  pool.next[unit] = pool.unmapped[oldest];
  pool.unmapped[oldest] = (uint32_t)unit + 1;
  pool.kept -= bytes;
  madvise(pool.base + unit * UNIT, bytes, MADV_DONTNEED);
}

// deallocate makes a block free.
static void deallocate(void *p) {
  size_t unit = (size_t)((char *)p - pool.base) / UNIT;
  pthread_mutex_lock(&pool.lock);
  int size_class = pool.class_of[unit];
  size_t bytes = size_of(size_class);
  pool.next[unit] = pool.free[size_class];
  pool.free[size_class] = (uint32_t)unit + 1;
  pool.blocks--;
  pool.used -= bytes;
  for (pool.kept += bytes; pool.kept > KEPT;) unmap_oldest();
  pthread_mutex_unlock(&pool.lock);
}

// fits_pool tells whether the pool serves an allocation.
static int fits_pool(size_t alignment, size_t size) {
  return size >= LEAST && size < MOST && alignment >= sizeof(void *) && alignment <= UNIT &&
         (alignment & (alignment - 1)) == 0;
}

// The library calls these instead of the C library's functions.

static int pool_posix_memalign(void **out, size_t alignment, size_t size) {
  if (fits_pool(alignment, size)) {
    void *p = allocate(size);
    if (p != NULL) {
      *out = p;
      return 0;
    }
  }
  return posix_memalign(out, alignment, size);
}

static void *pool_aligned_alloc(size_t alignment, size_t size) {
  void *p = NULL;
  if (fits_pool(alignment, size)) p = allocate(size);
  return p != NULL ? p : aligned_alloc(alignment, size);
}

static void pool_free(void *p) {
  if (owns(p)) deallocate(p);
  else free(p);
}

static void *pool_realloc(void *p, size_t size) {
  if (!owns(p)) return realloc(p, size);
  size_t old_size = size_of(pool.class_of[(size_t)((char *)p - pool.base) / UNIT]);
  void *q = malloc(size);
  if (q == NULL) return NULL;
  memcpy(q, p, old_size < size ? old_size : size);
  deallocate(p);
  return q;
}

// Functions, as bits of a set.
enum { ALLOCATES = 1, FREES = 2, RESIZES = 4 };

static const struct {
  const char *name;
  void *ours;
  int kind;
} replaced[] = {{"posix_memalign", pool_posix_memalign, ALLOCATES},
                {"aligned_alloc", pool_aligned_alloc, ALLOCATES},
                {"free", pool_free, FREES},
                {"realloc", pool_realloc, RESIZES}};

// reserve maps addresses without memory.
static void *reserve(size_t size, int access) {
  void *p = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

// open_pool makes the pool. It is never closed, because plugins are not.
static int open_pool(void) {
  if (pool.base != NULL) return 1;
  pool.class_of = reserve(UNITS * sizeof *pool.class_of, PROT_READ | PROT_WRITE);
  pool.next = reserve(UNITS * sizeof *pool.next, PROT_READ | PROT_WRITE);
  if (pool.class_of == NULL || pool.next == NULL) return 0;
  char *base = reserve(REGION + UNIT, PROT_NONE);
  if (base != NULL) pool.base = (char *)(((uintptr_t)base + UNIT - 1) / UNIT * UNIT);
  return base != NULL;
}

#ifdef __x86_64__
enum { SLOT = R_X86_64_JUMP_SLOT, DATA = R_X86_64_GLOB_DAT, ABSOLUTE = R_X86_64_64 };
#else
enum { SLOT = R_AARCH64_JUMP_SLOT, DATA = R_AARCH64_GLOB_DAT, ABSOLUTE = R_AARCH64_ABS64 };
#endif

// protection is how the pages at an address of an object are protected once it is loaded.
static int protection(const struct link_map *object, uintptr_t at) {
  const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)object->l_addr;
  const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(object->l_addr + header->e_phoff);
  for (int i = 0; i < header->e_phnum; i++, segment++) {
    uintptr_t from = object->l_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_RELRO && at >= from && at < from + segment->p_memsz) return PROT_READ;
  }
  return PROT_READ | PROT_WRITE;
}

// relocations are a table of an object: its entries say where the addresses of symbols are to be written.
typedef struct {
  const ElfW(Rela) *first;
  size_t count;
} relocations;

// redirect makes the entries of a table that hold functions of some kinds point to ours. It returns the kinds of all
// entries, or -1 if an entry cannot be written. Without kinds it changes nothing.
static int redirect(const struct link_map *object, relocations table, const ElfW(Sym) *symbols, const char *names,
                    int kinds) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  int present = 0;
  for (const ElfW(Rela) *r = table.first; r < table.first + table.count; r++) {
    unsigned type = ELF64_R_TYPE(r->r_info);
    if (type != SLOT && type != DATA && type != ABSOLUTE) continue;
    const ElfW(Sym) *symbol = symbols + ELF64_R_SYM(r->r_info);
    if (symbol->st_shndx != SHN_UNDEF) continue;
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
      if (strcmp(names + symbol->st_name, replaced[i].name) != 0) continue;
      present |= replaced[i].kind;
      if (!(replaced[i].kind & kinds)) continue;
      uintptr_t at = object->l_addr + r->r_offset, first = at / page * page;
      if (mprotect((void *)first, page, PROT_READ | PROT_WRITE) != 0) return -1;
      *(void **)at = replaced[i].ours;
      mprotect((void *)first, page, protection(object, at));
    }
  }
  return present;
}

int xb_pool_open(const void *address) {
  Dl_info info;
  struct link_map *object = NULL;
  if (dladdr1(address, &info, (void **)&object, RTLD_DL_LINKMAP) == 0 || object == NULL) return 0;
  if (memcmp((const void *)object->l_addr, ELFMAG, SELFMAG) != 0) return 0;
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  relocations slots = {0}, data = {0};
  size_t relative = 0;  // entries at the beginning that stand for no symbol
  for (const ElfW(Dyn) *d = object->l_ld; d->d_tag != DT_NULL; d++) {
    const void *p = (const void *)d->d_un.d_ptr;
    size_t n = d->d_un.d_val;
    switch (d->d_tag) {
    case DT_SYMTAB:
      symbols = p;
      break;
    case DT_STRTAB:
      names = p;
      break;
    case DT_JMPREL:
      slots.first = p;
      break;
    case DT_PLTRELSZ:
      slots.count = n / sizeof(ElfW(Rela));
      break;
    case DT_RELA:
      data.first = p;
      break;
    case DT_RELASZ:
      data.count = n / sizeof(ElfW(Rela));
      break;
    case DT_RELACOUNT:
      relative = n;
      break;
    }
  }
  if (symbols == NULL || names == NULL || slots.first == NULL || data.first == NULL || relative > data.count) return 0;
  data.first += relative, data.count -= relative;
  int present = redirect(object, slots, symbols, names, 0) | redirect(object, data, symbols, names, 0);
  if (!(present & ALLOCATES) || !(present & FREES) || !open_pool()) return 0;
  // All functions that free are replaced first. They also free blocks of the C library; the C library's own functions
  // cannot free blocks of the pool.
  for (int kinds = FREES | RESIZES; kinds; kinds = kinds == ALLOCATES ? 0 : ALLOCATES) {
    if (redirect(object, slots, symbols, names, kinds) < 0 || redirect(object, data, symbols, names, kinds) < 0)
      return 0;
  }
  return 1;
}

void xb_pool_count(size_t *blocks, size_t *used, size_t *kept) {
  pthread_mutex_lock(&pool.lock);
  *blocks = pool.blocks, *used = pool.used, *kept = pool.kept;
  pthread_mutex_unlock(&pool.lock);
}

#else

int xb_pool_open(const void *address) {
  (void)address;
  return 0;
}

void xb_pool_count(size_t *blocks, size_t *used, size_t *kept) { *blocks = *used = *kept = 0; }

#endif
