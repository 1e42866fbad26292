// For pages with an editor beside a preview: shows what is typed, and asks before it is lost.

const PREVIEW_DELAY_MS = 400
let previewTimer

// Replaces the frame each time, so that previews do not add entries to the history.
document.addEventListener('input', ({ target }) => {
  const { form } = target
  const button =
    target.closest('fieldset')?.querySelector('[data-preview]') ?? form?.querySelector('[data-preview]:not(fieldset *)')
  if (!button) return
  changedForm = form
  clearTimeout(previewTimer)
  previewTimer = setTimeout(() => {
    const frame = document.querySelector(`iframe[name="${button.formTarget}"]`)
    if (!frame || !form.isConnected) return
    const fresh = frame.cloneNode()
    fresh.removeAttribute('src')
    frame.replaceWith(fresh)
    form.requestSubmit(button)
  }, PREVIEW_DELAY_MS)
})

/** The form of an editor with changes that are not saved. */
let changedForm
/** True after such a form was submitted. */
let isSaving = false
const isChanged = () => changedForm?.isConnected
const UNSAVED = 'Your changes on this page are not saved. Go on without them?'

// Asks before another form of the page is submitted: a campaign would be sent as it was before the changes.
document.addEventListener(
  'submit',
  event => {
    if (event.submitter?.formTarget === 'preview') return
    isSaving = event.target === changedForm
    if (isSaving || !isChanged() || confirm(UNSAVED)) {
      changedForm = undefined
      return
    }
    event.preventDefault()
    event.stopImmediatePropagation()
  },
  true,
)

document.addEventListener('turbo:before-visit', event => {
  if (!isChanged() || confirm(UNSAVED)) changedForm = undefined
  else event.preventDefault()
})

addEventListener('beforeunload', event => {
  if (isChanged()) event.preventDefault()
})

document.addEventListener('turbo:fetch-request-error', ({ target }) => {
  if (isSaving && target.matches?.('form:has([data-preview])')) changedForm = target
})

// A rejected form is shown again with what was typed.
document.addEventListener('turbo:render', () => {
  if (isSaving && document.getElementById('problem')) changedForm = document.querySelector('form:has([data-preview])')
})
