// The operations on tiles of processors with AMX, as narrowdot_tiles.h wants them.
#ifndef XLARUN_NARROWDOT_AMX_H
#define XLARUN_NARROWDOT_AMX_H

// Eight tiles of 16 rows of 64 bytes, as the processor takes it.
static const struct {
  uint8_t palette, start_row, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} shapes = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

#define TILES
#define OPEN _tile_loadconfig(&shapes)
#define CLOSE _tile_release()
#define ZERO(t) _tile_zero(t)
#define LOAD(t, from, bytes) _tile_loadd(t, from, bytes)
#define STORE(t, to, bytes) _tile_stored(t, to, bytes)

#endif
