/** A pack of acts and art, as cartridge/levels/pack.py writes it: words of 32 bits. */

const HEAD = [
  "magic",
  "acts",
  "zones",
  "sprites",
  "logo",
  "act",
  "zone",
  "shape",
  "sprite",
  "logoAt",
  "logoMap",
  "names",
  "namesLength",
] as const;
const ACT = [
  "zone",
  "number",
  "width",
  "map",
  "spawns",
  "count",
  "startX",
  "startY",
  "endX",
  "waterY",
] as const;
const ZONE = [
  "palette",
  "tiles",
  "tileCount",
  "metatiles",
  "metatileCount",
  "back",
  "backCount",
  "backMap",
] as const;
export const ROWS = 32;

type Row<Names extends readonly string[]> = Record<Names[number], number>;

function row<Names extends readonly string[]>(
  view: DataView,
  at: number,
  names: Names,
): Row<Names> {
  return Object.fromEntries(
    names.map((name, i) => [name, view.getUint32(at + 4 * i, true)]),
  ) as Row<Names>;
}

export class Pack {
  private readonly view: DataView;
  private readonly head: Row<typeof HEAD>;
  /** Names such as BrambleWood.Act1. */
  readonly names: string[];

  constructor(readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.head = row(this.view, 0, HEAD);
    const { names, namesLength } = this.head;
    this.names = new TextDecoder().decode(bytes.subarray(names, names + namesLength)).split("\n");
  }

  act(number: number): Row<typeof ACT> {
    return row(this.view, this.head.act + 4 * ACT.length * number, ACT);
  }

  zone(number: number): Row<typeof ZONE> {
    return row(this.view, this.head.zone + 4 * ZONE.length * number, ZONE);
  }

  /** The metatile at a column and row of an act. */
  cell(act: number, column: number, rowNumber: number): number {
    return this.bytes[this.act(act).map + column * ROWS + rowNumber];
  }

  /** What a metatile is to a hero; 0: air. */
  shape(metatile: number): number {
    return this.bytes[this.head.shape + metatile];
  }

  /** The mean colour of each metatile of a zone, as [red, green, blue]; null where it is clear. */
  colours(zone: number): ([number, number, number] | null)[] {
    const art = this.zone(zone);
    const word = (at: number) => this.view.getUint16(at, true);
    return Array.from({ length: art.metatileCount }, (_, metatile) => {
      const sum: [number, number, number] = [0, 0, 0];
      let seen = 0;
      for (let corner = 0; corner < 4; corner++) {
        const entry = word(art.metatiles + 8 * metatile + 2 * corner);
        const [tile, line] = [(entry & 0x7ff) - 1, (entry >> 13) & 3];
        if (tile < 0 || tile >= art.tileCount) continue;
        for (let y = 0; y < 8; y++) {
          const pixels = this.view.getUint32(art.tiles + 32 * tile + 4 * y, true);
          for (let x = 0; x < 8; x++) {
            const colour = (pixels >>> (4 * x)) & 15;
            if (!colour) continue;
            const bits = word(art.palette + 2 * (16 * line + colour));
            sum.forEach((_, i) => (sum[i] += ((bits >> (1 + 4 * i)) & 7) * 36));
            seen++;
          }
        }
      }
      return seen < 64
        ? null
        : (sum.map((one) => Math.round(one / seen)) as [number, number, number]);
    });
  }
}
