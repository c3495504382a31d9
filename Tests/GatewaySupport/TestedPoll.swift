import Gateway

/// The state machine of a poll as tests run it: an event and a journal that answers at once, effects in return.
package typealias TestedPoll = Poll
