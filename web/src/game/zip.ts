/** Zip archives, as far as recordings need them: a few small files, deflated or stored. */

import { crc32 } from "./crc";
import { deflate, inflate } from "./share";

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const DEFLATED = 8;
const VERSION = 20;
/** 1 January 1980, the first day of zip. */
const DAY = 33;

export interface Entry {
  name: string;
  crc: number;
  read(): Promise<Uint8Array>;
}

class Bytes {
  readonly parts: Uint8Array[] = [];
  length = 0;

  add(part: Uint8Array): void {
    this.parts.push(part);
    this.length += part.length;
  }

  /** Numbers of two bytes, or of four where `wide` says so. */
  numbers(values: number[], wide: number[]): void {
    const view = new DataView(new ArrayBuffer(2 * values.length + 2 * wide.length));
    let at = 0;
    values.forEach((value, i) => {
      if (wide.includes(i)) view.setUint32(at, value, true);
      else view.setUint16(at, value, true);
      at += wide.includes(i) ? 4 : 2;
    });
    this.add(new Uint8Array(view.buffer));
  }
}

/** An archive of these files. */
export async function zip(files: Record<string, Uint8Array>): Promise<Blob> {
  const [whole, central] = [new Bytes(), new Bytes()];
  for (const [name, content] of Object.entries(files)) {
    const [label, packed, at] = [
      new TextEncoder().encode(name),
      await deflate(content),
      whole.length,
    ];
    const common = [
      VERSION,
      0,
      DEFLATED,
      0,
      DAY,
      crc32(content),
      packed.length,
      content.length,
      label.length,
      0,
    ];
    whole.numbers([LOCAL, ...common], [0, 6, 7, 8]);
    whole.add(label);
    whole.add(packed);
    central.numbers([CENTRAL, VERSION, ...common, 0, 0, 0, 0, at], [0, 7, 8, 9, 15, 16]);
    central.add(label);
  }
  const [count, start] = [Object.keys(files).length, whole.length];
  for (const part of central.parts) whole.add(part);
  whole.numbers([END, 0, 0, count, count, central.length, start, 0], [0, 5, 6]);
  return new Blob(whole.parts as Uint8Array<ArrayBuffer>[], { type: "application/zip" });
}

/** The files in an archive. Throws a RangeError if it is none. */
export function unzip(file: Uint8Array): Entry[] {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let end = file.length - 22;
  while (view.getUint32(end, true) !== END) end--; // throws a RangeError before the start
  const entries: Entry[] = [];
  let at = view.getUint32(end + 16, true);
  for (let i = 0; i < view.getUint16(end + 10, true); i++) {
    if (view.getUint32(at, true) !== CENTRAL) throw new RangeError("no archive");
    const [method, crc, packed] = [
      view.getUint16(at + 10, true),
      view.getUint32(at + 16, true),
      view.getUint32(at + 20, true),
    ];
    const [label, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const local = view.getUint32(at + 42, true);
    const name = new TextDecoder().decode(file.subarray(at + 46, at + 46 + label));
    entries.push({ name, crc, read: () => read(file, local, packed, method) });
    at += 46 + label + extra + comment;
  }
  return entries;
}

async function read(
  file: Uint8Array,
  local: number,
  packed: number,
  method: number,
): Promise<Uint8Array> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
  const content = file.subarray(start, start + packed);
  return method === DEFLATED ? inflate(content) : content;
}
