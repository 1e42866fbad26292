/** A provider refused, or did not answer. Its message is for who gave the credentials, and does not hold them. */
export class ProviderError extends Error {}
