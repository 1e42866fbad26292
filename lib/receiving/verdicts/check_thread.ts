import { checkOrigin } from './check_origin.ts'

/** What `authenticate.ts` runs in a thread of its own. */
export default checkOrigin
