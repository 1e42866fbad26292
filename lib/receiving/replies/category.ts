export const CATEGORIES = ['interested', 'neutral', 'not_interested'] as const

/** What a reply means to whoever wrote the campaign. */
export type Category = (typeof CATEGORIES)[number]
