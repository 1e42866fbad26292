/** They write for another reason: an order, a bill, something broken. Then interest means something else. */
export const TROUBLE =
  /(?<!\p{L})(?:refund|crash\p{L}*|bugs?|password|passwort|log ?in|abgestürzt|complain\p{L}*|broken|not work(?:ing)?|(?:does|do|did)n't work|error|invoice|my order|our order|not arrived|hasn't arrived|cancel\p{L}*|wrong item|delivery address|overcharged|support ticket|beschwer\p{L}*|rechnung|reklamation|erstatt\p{L}*|bestellung fehlt|funktioniert nicht|kaputt|faktura\p{L}*|klagomål|reklam\p{L}*|trasig|fungerar inte|réclam\p{L}*|facture|rembours\p{L}*|ne fonctionne pas|reembolso|factura|reclam\p{L}*|no funciona|mi pedido)(?!\p{L})/u

/** The reply is nothing but a no. */
export const BARE_NO = /^[^\p{L}]*(?:no|nope|nah|nein|nö|nej|non|no way|never)[^\p{L}]*$/u

/** Negates the phrase of interest that follows it after up to three words. */
export const NEGATIONS =
  /(?:(?<!\p{L})(?:not|no|never|nor|neither|without|cannot|hardly|nicht|kein(?:e[nrs]?)?|nie|niemals|ohne|inte|ej|ingen|inget|aldrig|pas|jamais|sans|aucune?|nunca|sin|ni|tampoco)|n't|n’t)(?:\s+[\p{L}'’]+){0,3}[\s,]*$/iu

/** `I do not want to unsubscribe`. */
export const NOT_WANTED = /(?:n't|not) (?:want|wish|mean|like|going|trying) to\s+$/

/** A question about a refusal is no refusal, unless it asks us to do something. */
export const ASKED = /^(?![^\p{L}]*(?:can|could|would|will|please|kann|könn|bitte|kan|pouvez|puede|podría))[^.!?]*\?/u

/** Follows a phrase of interest and makes it conditional. */
export const ON_CONDITION = /^[\s,]*(?:only )?(?:if|unless|wenn|falls|sofern|om|ifall|si)(?!\p{L})/u

/** The phrase that follows is asked or supposed, so it is neither a yes nor a no. */
export const SUPPOSED =
  /(?<!\p{L})(?:if|unless|in case|whether|falls|wenn|ob|sofern|om|ifall|si|if you are|in the event)(?:\s+[\p{L}'’]+){0,4}[\s,]*$/iu
