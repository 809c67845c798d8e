/* Rings, time, lives, zone and act, as sprites 0..HUD_SPRITES-1; and text of the title. */
#ifndef HUD_H
#define HUD_H

#include "types.h"

#define HUD_SPRITES 4

void hud_reset(void);
void hud_update(void);
void hud_upload(void); /* in the vertical blank: the tiles of what has changed */
void text_put(const char *text, s16 x, s16 y);

#endif
