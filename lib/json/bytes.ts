/** Bytes that have a meaning in JSON (RFC 8259 section 2). */
export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_ARRAY = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_ARRAY = 0x5d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d

/** 1 for each byte that is white space, else 0. */
export const isWhiteSpace: Uint8Array = new Uint8Array(256)
for (const character of ' \t\r\n') isWhiteSpace[character.charCodeAt(0)] = 1
