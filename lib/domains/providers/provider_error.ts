/** A provider refused a request or did not respond. The message is for the owner of the credentials and does not contain them. */
export class ProviderError extends Error {}
