/* Short tunes on one tone of the video chip's sound generator. The game asks by setting
 * sound_request; the main loop plays. */
#ifndef SOUND_H
#define SOUND_H

#include "types.h"

enum Sound { SOUND_NONE, SOUND_JUMP, SOUND_RING, SOUND_SPRING, SOUND_HIT, SOUND_SWITCH, SOUND_HURT,
             SOUND_END };

extern u8 sound_request;

void sound_update(void);

#endif
