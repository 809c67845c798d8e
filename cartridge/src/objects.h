/* Everything that spawns: alive only near the camera. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include "types.h"

#define MAX_OBJECTS 255

/* Where the act begins again after a death. */
typedef struct { u16 set, x, y; } Checkpoint;

extern Checkpoint checkpoint;

void objects_load(void);
void objects_update(void);
void objects_draw(void);
/* A roll breaks the breakable wall in this column. */
void objects_smash(s16 x);

#endif
