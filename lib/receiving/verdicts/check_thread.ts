import { checkOrigin } from './check_origin.ts'

/** `authenticate.ts` runs this in a thread. */
export default checkOrigin
