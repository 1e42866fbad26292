import { runTogether } from '#test/support/together.ts'

runTogether(import.meta.filename)
