export const CATEGORIES = ['interested', 'neutral', 'not_interested'] as const

/** The meaning of a reply for the author of the campaign. */
export type Category = (typeof CATEGORIES)[number]
