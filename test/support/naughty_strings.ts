/** Text that breaks programs, like the Big List of Naughty Strings. */
export const naughtyStrings: string[] = [
  // Mistaken for no value, another type, or a member of every object.
  ...['undefined', 'null', 'NULL', '(null)', 'nil', 'None', 'true', 'false', 'NaN', 'Infinity', '-Infinity'],
  ...['hasOwnProperty'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', '[object Object]', '{}', '[]', '[""]'],
  ...['{"a":1}', 'then'],
  // Mistaken for numbers, dates and ids.
  ...['0', '1', '-1', '00', '1.0', '1e9', '1E-2', '0x0', '0b1', '0o7', '1/0', '0/0', '1,000', '1_000', '.5', '5.'],
  ...['+1', '--1'],
  ...['9007199254740993', '2147483648', '-9223372036854775809', '1e400', '١٢٣', '１２３', '①', '½', '²', 'Ⅷ'],
  ...['1'.repeat(400)],
  ...['2026-02-30', '0000-00-00', '1970-01-01T00:00:00Z', '24:00:00', '00000000-0000-0000-0000-000000000000'],
  ...['ffffffff'],
  // Mistaken for SQL, patterns, regular expressions and formats.
  ...["'", "''", "'''", '"', '`', ';', '--', '/*', '*/', "' OR 1=1--", "'; DROP TABLE emails;--"],
  ...["1' UNION SELECT null--"],
  ...['%', '%%', '_', '__', '%_%', '\\', '\\\\', '\\%', '\\_', 'a%b', '$1', '$$', '$slonik_1', ':name', '?', '@>'],
  ...["E'\\x00'"],
  ...['.*', '^$', '(a+)+$', '[', ']', '(', ')', '*', '+', '{1,}', '|', '\\d', '(?=x)', '[^]', '%s', '%n', '%d%d%d'],
  ...['%x', '{0}'],
  // Mistaken for markup, templates, scripts, commands and paths.
  ...['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '</title>', '<!--', '-->', ']]>', '&lt;'],
  ...['&#0;', '&amp;amp;'],
  ...['{{7*7}}', `$\{7*7}`, '<%= 1 %>', '#{1}', '{{constructor.constructor}}', 'javascript:alert(1)'],
  ...['data:text/html,x'],
  ...['; ls', '| id', '$(id)', '`id`', '&& true', '> /dev/null', '$HOME', '%PATH%', '../../etc/passwd'],
  ...['..\\..\\x', 'C:\\con', 'nul'],
  ...['%00', '%0d%0aX: y', '%2e%2e%2f', '%u0041', '%E0%80%80', '\\u0000', '\\x00', '&a=b', '#', '?a=b', 'a=b&a=c'],
  ...['//x', 'a:b:c'],
  // Mistaken for headers and addresses.
  ...['Subject: x', '=?utf-8?q?x?=', '=?utf-8?b?AAAA?=', '<>', '<a@b>', 'a@', '@b.com', 'a@b@c.com', '"a b"@c.com'],
  ...['a..b@c.com'],
  ...['a@[127.0.0.1]', 'a@xn--', 'xn--a', 'a@-b.com', 'ü@ü.de', 'a@b.com,c@d.com', `${'a'.repeat(65)}@b.com`],
  ...['a@b.com>', '.', '..'],
  // White space and invisible characters.
  ...[' ', '  ', ' a', 'a ', '\t', '\v', '\f', '\u00a0', '\u1680', '\u2003', '\u2028', '\u2029', '\u202f'],
  ...['\u3000', '\ufeff'],
  ...['\u200b', '\u200c', '\u200d', '\u2060', '\u00ad', '\u180e', '\u034f', 'a\u200bb', '\u{e0001}', '\u{e0041}'],
  ...['\ufe0f', '\ufffd'],
  ...['\u0001', '\u0008', '\u001b[31m', '\u001e', '\u001f', '\u007f', '\u0085', '\u009f', '\ufffe', '\uffff'],
  ...['\u{10ffff}', '\ufdd0'],
  ...['\0', 'a\0b', '\n', '\r', 'a\r\nb', '\r\n.\r\n', '\n\u001e'],
  // Private use, where the search has its own markers.
  ...['\ue000', '\ue000\ue800', '\uf000', '\uf8ff', '\uf8ff\uf000', 'a\uf8ffb', '\u{f0000}', '\u{10fffd}'],
  ...['\ue000\uf8ff?'],
  // Text direction.
  ...['\u202e', '\u202atest\u202c', '\u2066x\u2069', '\u061c', '\u200f', 'שלום', 'مرحبا', 'abc\u202edef'],
  ...['الكل في المجمو عة'],
  // Case changes that change length, meaning or language.
  ...['ß', 'ẞ', 'SS', 'ı', 'İ', 'i̇', 'I', 'ǅ', 'ﬃ', 'Σ', 'σς', 'ΟΔΥΣΣΕΥΣ', 'ŉ', 'ΐ', 'K', 'Å', 'ſ', 'Ⱥ', 'Ა'],
  ...['Ꭰ', 'Ω'],
  // Composed and decomposed, stacked, and similar characters.
  ...['é', 'e\u0301', 'ñ', 'n\u0303', '가', '\u1100\u1161', 'a\u0301\u0302\u0303\u0304\u0305\u0306', 'Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤'],
  ...['аdmin', 'ａｄｍｉｎ', '𝐚𝐛𝐜'],
  // Many languages, other planes, joined characters.
  ...[
    '明',
    '田中さん',
    '사회과학원',
    'Ελληνικά',
    'Привет',
    'ไทย',
    'हिन्दी',
    'ᚠᛇᚻ',
    '𠜎',
    '𐐷',
    '😀',
    '👩‍👩‍👧‍👦',
    '🏳️‍🌈',
    '🇩🇪',
  ],
  ...['👍🏽', '❤️', '¯\\_(ツ)_/¯'],
  ...['﷽', 'ﷺ', '⁰⁴⁵', '„“', '«»', '¡¿', '€', '£', '¥', '™', '…', '–', '—', '‰', '∞', '≠', '√', '→', '█', '\u{1d173}'],
  // Long.
  ...['x'.repeat(998), '%'.repeat(500), '😀'.repeat(499), 'e\u0301'.repeat(499), '\\'.repeat(900)],
  ...['x'.repeat(999), 'ﷺ'.repeat(1_000)],
]
