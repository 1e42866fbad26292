/** First line of generated files, for people who open one to edit it. */
export const GENERATED_CODE = '// Written by `npm run docs` from the OpenAPI document: edit the sources, not this file.'
