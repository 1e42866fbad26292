/** Words for another reason to write, such as an order, a bill or a defect. A reply with them is never `interested`. */
export const TROUBLE =
  /(?<!\p{L})(?:refund|crash\p{L}*|bugs?|password|passwort|log ?in|abgestürzt|complain\p{L}*|broken|not work(?:ing)?|(?:does|do|did)n't work|error|invoice|my order|our order|not arrived|hasn't arrived|cancel\p{L}*|wrong item|delivery address|overcharged|support ticket|beschwer\p{L}*|rechnung|reklamation|erstatt\p{L}*|bestellung fehlt|funktioniert nicht|kaputt|faktura\p{L}*|klagomål|reklam\p{L}*|trasig|fungerar inte|réclam\p{L}*|facture|rembours\p{L}*|ne fonctionne pas|reembolso|factura|reclam\p{L}*|no funciona|mi pedido)(?!\p{L})/u

/** The whole reply is a no. */
export const BARE_NO = /^[^\p{L}]*(?:no|nope|nah|nein|nö|nej|non|no way|never)[^\p{L}]*$/u

/** Negates a phrase of interest up to three words after it. */
export const NEGATIONS =
  /(?:(?<!\p{L})(?:not|no|never|nor|neither|without|cannot|hardly|nicht|kein(?:e[nrs]?)?|nie|niemals|ohne|inte|ej|ingen|inget|aldrig|pas|jamais|sans|aucune?|nunca|sin|ni|tampoco)|n't|n’t)(?:\s+[\p{L}'’]+){0,3}[\s,]*$/iu

/** `I do not want to unsubscribe`. */
export const NOT_WANTED = /(?:n't|not) (?:want|wish|mean|like|going|trying) to\s+$/

/** A question about a refusal is not a refusal, unless it asks us to do something. */
export const ASKED = /^(?![^\p{L}]*(?:can|could|would|will|please|kann|könn|bitte|kan|pouvez|puede|podría))[^.!?]*\?/u

/** Follows a phrase of interest and makes it conditional. */
export const ON_CONDITION = /^[\s,]*(?:only )?(?:if|unless|wenn|falls|sofern|om|ifall|si)(?!\p{L})/u

/** The following phrase is a question or a supposition, and so neither a yes nor a no. */
export const SUPPOSED =
  /(?<!\p{L})(?:if|unless|in case|whether|falls|wenn|ob|sofern|om|ifall|si|if you are|in the event)(?:\s+[\p{L}'’]+){0,4}[\s,]*$/iu
