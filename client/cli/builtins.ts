// Modules of Node that are loaded when they are first needed: importing these takes as long as the rest of the start.

export const fs = () => process.getBuiltinModule('node:fs')
export const util = () => process.getBuiltinModule('node:util')
export const crypto = () => process.getBuiltinModule('node:crypto')
export const fsPromises = () => process.getBuiltinModule('node:fs/promises')
