import type { Words } from './words.ts'

export const it: Words = {
  recipient: 'Email inviate a {address}',
  unsubscribe: 'Annulla tutte le iscrizioni',
  unsubscribe_topic: 'Non ricevere più email come questa',
  choose: 'Scegli le email che ricevi',
  save: 'Salva',
  undo: 'Annulla la modifica',
  resubscribe: 'Iscriviti di nuovo',
  unsubscribed: 'La tua iscrizione è annullata. {sender} non ti invierà più newsletter.',
  unsubscribed_topic: 'Non riceverai più email come questa.',
  resubscribed: 'La tua iscrizione è di nuovo attiva.',
  resubscribed_topic: 'Riceverai di nuovo email come questa.',
  no_longer: 'Non riceverai più: {topics}.',
  from_now_on: 'Riceverai: {topics}.',
  nothing_changed: 'Non è stato modificato nulla.',
  complained:
    'Hai segnalato un’email di {sender} come spam, quindi non puoi iscriverti qui. Scrivi a {sender} se vuoi ricevere di nuovo le sue email.',
  too_often: 'Hai modificato questa scelta troppo spesso. Riprova tra un’ora.',
  send_answer: 'Invia risposta',
  change_answer: 'Modifica risposta',
  answered: 'Grazie. La tua risposta è: {answer}.',
  test_poll: 'Questa è un’email di prova: le risposte non vengono salvate.',
  bad_link: 'Questo link non funziona',
  bad_link_help: 'Copia l’intero link dall’email oppure usa il link di un’email più recente.',
  unavailable: 'Questa pagina al momento non è disponibile',
  unavailable_help: 'Non è stato modificato nulla. Riprova tra qualche secondo.',
}
