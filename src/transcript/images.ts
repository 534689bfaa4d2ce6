/**
 * Whether the data of an image part is a picture that a model can be given.
 */

/** First bytes of the known types, null: any byte. */
const SIGNATURES: readonly (readonly (number | null)[])[] = [
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], // PNG
  [0xff, 0xd8, 0xff], // JPEG
  [0x47, 0x49, 0x46, 0x38, 0x37, 0x61], // GIF87a
  [0x47, 0x49, 0x46, 0x38, 0x39, 0x61], // GIF89a
  [0x52, 0x49, 0x46, 0x46, null, null, null, null, 0x57, 0x45, 0x42, 0x50], // RIFF….WEBP
];

/** Base64 characters that hold every signature. */
const HEAD_CHARACTERS = 16;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** True for base64 of a PNG, JPEG, GIF or WebP, told by its first bytes. Total. */
export function isKnownImage(data: unknown): boolean {
  if (typeof data !== 'string' || data.length % 4 !== 0 || !BASE64.test(data)) return false;
  const head = Buffer.from(data.slice(0, HEAD_CHARACTERS), 'base64');
  return SIGNATURES.some((bytes) =>
    bytes.every((byte, at) => at < head.length && (byte === null || byte === head[at])),
  );
}
