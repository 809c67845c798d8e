/* Rings, time and lives, as sprites 0..HUD_SPRITES-1; and text of the title. */
#ifndef HUD_H
#define HUD_H

#include "types.h"

#define HUD_SPRITES 10

void hud_reset(void);
void hud_update(void);
void text_put(const char *text, s16 x, s16 y);

#endif
