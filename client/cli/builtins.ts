// Modules of Node at the moment that they are needed. An `import` of one reads all that it exports, which for these takes as long as
// the rest of a start.

export const fs = () => process.getBuiltinModule('node:fs')
export const util = () => process.getBuiltinModule('node:util')
export const crypto = () => process.getBuiltinModule('node:crypto')
export const fsPromises = () => process.getBuiltinModule('node:fs/promises')
