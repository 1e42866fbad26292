import { de } from './de.ts'
import { en } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { it } from './it.ts'
import { nl } from './nl.ts'
import { pt } from './pt.ts'
import { sv } from './sv.ts'
import type { Words } from './words.ts'

/** The languages of the pages for recipients, by tag (RFC 5646). The first one is used for readers of other languages. */
export const LANGUAGES: Record<string, Words> = { en, de, fr, es, it, pt, nl, sv }
