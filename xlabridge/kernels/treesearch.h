// Rows of search trees: the layout and the meaning are those of rollout/search's Tree.
#ifndef XLARUN_TREESEARCH_H
#define XLARUN_TREESEARCH_H

#include <stdint.h>

enum {
  XB_VISITS,
  XB_VALUE,
  XB_RAW,
  XB_REWARD,
  XB_DISCOUNT,
  XB_PARENT,
  XB_ACTION,
  XB_DEPTH,
  XB_LEAF,
  XB_LEAF_ACTION,
  XB_SLOT,
  XB_USED,
  XB_HEADS
};
enum { XB_LOGITS, XB_PRIOR, XB_COUNTS, XB_VALUES, XB_CHILDREN, XB_BLOCKS };
enum { XB_BLOCK_LANES = 8 };  // that blocks are padded to a multiple of
enum { XB_BY_SIBLINGS, XB_BY_MIN_MAX, XB_BY_MIXED_VALUE };

// The numbers of a rule, in the order of rollout/search's settings.
enum { XB_IS_GUMBEL, XB_TRANSFORM, XB_MAX_DEPTH, XB_INIT, XB_BASE, XB_LEAST, XB_GREATEST, XB_SETTINGS };

typedef struct {
  int64_t nodes, actions, padded, width;
  float *rows;                         // [nodes, width]
  int64_t parent, action, next, used;  // the edge that was evaluated, and the rows in use before
  float reward, discount, value;       // of its action
  const float *logits;            // [actions]
  const float *settings;          // [XB_SETTINGS]
  const float *noise, *closed, *before;
  float considered;
  float *scratch;  // [padded]
} xb_tree;

// Backs a step up in one tree.
typedef void xb_tree_backup_one(const xb_tree *);

extern xb_tree_backup_one xb_tree_backup_plain;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
extern xb_tree_backup_one xb_tree_backup_avx2;
#endif

#endif
