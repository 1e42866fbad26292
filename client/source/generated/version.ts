// Written by `npm run docs` from the OpenAPI document: edit the sources, not this file.

export const VERSION = '0.1.0'
