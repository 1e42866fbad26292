/** Runs benchmarks by name: `npm run bench -- accept`, or several, or all of them without a name. */
const benchmarks: Record<string, () => Promise<void>> = {
  accept: async () => (await import('./accept.ts')).benchAccept(),
  batch: async () => (await import('./batch.ts')).benchBatch(),
  deliver: async () => (await import('./deliver.ts')).benchDeliver(),
  cost: async () => (await import('./cost.ts')).benchCost(),
  campaign: async () => (await import('./campaign.ts')).benchCampaign(),
  beside: async () => (await import('./beside.ts')).benchBeside(),
  snapshot: async () => (await import('./snapshot.ts')).benchSnapshot(),
  stats: async () => (await import('./stats.ts')).benchStats(),
  attachments: async () => {
    await (await import('./attachments.ts')).benchAttachments()
    await (await import('./large_emails.ts')).benchLargeEmails()
  },
  schedule: async () => (await import('./schedule.ts')).benchSchedule(),
  upload: async () => (await import('./upload.ts')).benchUpload(),
  tarpit: async () => (await import('./tarpit.ts')).benchTarpit(),
  inbound: async () => (await import('./inbound.ts')).benchInbound(),
  webhooks: async () => (await import('./webhooks.ts')).benchWebhooks(),
  list: async () => (await import('./list_emails.ts')).benchListEmails(),
  received: async () => (await import('./list_received.ts')).benchListReceived(),
  segments: async () => (await import('./segments.ts')).benchSegments(),
  contacts: async () => (await import('./contacts.ts')).benchContacts(),
  import: async () => (await import('./import.ts')).benchImport(),
  import_waits: async () => (await import('./import_waits.ts')).benchImportWaits(),
  rendering: async () => (await import('./rendering.ts')).benchRendering(),
  tracking: async () => (await import('./tracking.ts')).benchTracking(),
  metrics: async () => (await import('./metrics.ts')).benchMetrics(),
  redirect: async () => (await import('./redirect.ts')).benchRedirect(),
  events: async () => (await import('./events.ts')).benchEvents(),
  automations: async () => (await import('./automations.ts')).benchAutomations(),
  bodies: async () => (await import('./bodies.ts')).benchBodies(),
  dashboard: async () => (await import('./dashboard.ts')).benchDashboard(),
  cli: async () => (await import('./command_line.ts')).benchCommandLine(),
}

const names = process.argv.slice(2)
const unknown = names.filter(name => !benchmarks[name])
if (unknown.length > 0) {
  console.error(`No benchmark ${unknown.join(', ')}; there are: ${Object.keys(benchmarks).join(', ')}`)
  process.exitCode = 1
} else {
  for (const name of names.length > 0 ? names : Object.keys(benchmarks)) {
    console.log(`\n${name}`)
    await benchmarks[name]?.()
  }
}
