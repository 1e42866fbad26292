import type { Middleware } from '#api/context.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { assetsRouter } from './assets.ts'
import { dashboardRouter } from './dashboard.ts'
import { docsRouter } from './docs/routes.ts'
import { showErrors } from './request/browser.ts'

/** Returns the routes of the dashboard and the docs, which the web process serves beside the API, and pages about errors. */
export function createSite(foundation: Foundation): Middleware[] {
  const routers = [assetsRouter, docsRouter(foundation.config.BASE_URL), dashboardRouter(foundation)]
  return [showErrors, ...routers.map(router => router.routes() as unknown as Middleware)]
}
