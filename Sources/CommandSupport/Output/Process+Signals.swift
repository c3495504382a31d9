import Foundation

extension Process {
    /// Starts it with all signals let through. A child inherits the mask of the thread that starts it, and a thread of
    /// Dispatch blocks some: such a child could not be asked to end, and a shell that hears of no child's end waits for
    /// ever.
    /// - Throws: as `run`.
    package func runHearingSignals() throws {
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try run()
    }
}
