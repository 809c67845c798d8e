/** The CRC-32 of zip and gzip. */

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** of: bytes; before: the CRC-32 of what precedes them. */
export function crc32(of: Uint8Array, before = 0): number {
  let value = ~before;
  for (let i = 0; i < of.length; i++) value = TABLE[(value ^ of[i]) & 255] ^ (value >>> 8);
  return ~value >>> 0;
}
