/** Names the script, for those who open a file to edit it. */
export const GENERATED_CODE = '// Written by `npm run docs` from the OpenAPI document: edit the sources, not this file.'
