#define RECURRENCE xb_recurrence_plain
#define FIRE xb_fire_plain
#define W 4
#include "along_steps_block.h"
