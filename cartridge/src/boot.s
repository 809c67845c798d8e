| Vector table, cartridge header, start-up and the two interrupt handlers.

        .section .vectors, "ax"
        .global _start
        .long   0x01000000              | initial stack: top of work RAM
        .long   _start
        .rept   22
        .long   halt
        .endr
        .long   ignore                  | spurious
        .long   ignore                  | level 1
        .long   ignore                  | level 2: external
        .long   ignore                  | level 3
        .long   ignore                  | level 4: horizontal, never enabled
        .long   ignore                  | level 5
        .long   vblank                  | level 6: vertical
        .long   ignore                  | level 7
        .rept   32
        .long   halt
        .endr

        | Header, 0x100 to 0x1FF. The Makefile writes the checksum at 0x18E.
        .ascii  "SEGA MEGA DRIVE "
        .ascii  "BRAMBLE 2018.OCT"
        .ascii  "BRAMBLE DASH                                    "
        .ascii  "BRAMBLE DASH                                    "
        .ascii  "GM 00000000-00"
        .word   0
        .ascii  "J               "
        .long   0
        .long   rom_last
        .long   0x00FF0000
        .long   0x00FFFFFF
        .ascii  "            "
        .ascii  "            "
        .ascii  "                                        "
        .ascii  "JUE             "

        .text
_start:
        move.w  #0x2700, %sr
        move.b  0xA10001, %d0           | consoles with a lock want the maker's name
        andi.b  #0x0F, %d0
        beq.s   1f
        move.l  #0x53454741, 0xA14000
1:      move.w  #0, 0xA11200            | Z80: in reset for ever, so it never runs
        lea     0xFF0000, %a0           | clear work RAM
        move.w  #0x3FFF, %d0
2:      clr.l   (%a0)+
        dbra    %d0, 2b
        lea     data_rom, %a0           | initial values of .data
        lea     data_start, %a1
        move.l  #data_words, %d0
        bra.s   4f
3:      move.w  (%a0)+, (%a1)+
4:      dbra    %d0, 3b
        lea     0x1000000, %sp
        jsr     main
halt:   stop    #0x2700
        bra.s   halt

vblank:
        addq.w  #1, vblank_count
ignore: rte
