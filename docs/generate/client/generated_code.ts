/** First line of generated files: names the script for people who open the file to edit it. */
export const GENERATED_CODE = '// Written by `npm run docs` from the OpenAPI document: edit the sources, not this file.'
