/* Enemies, springs, rings and the end post: alive only near the camera. */
#ifndef OBJECTS_H
#define OBJECTS_H

#define MAX_OBJECTS 192

void objects_load(void);
void objects_update(void);
void objects_draw(void);

#endif
