import Foundation

extension Process {
    /// Starts the process with no blocked signals. A child inherits the mask of the starting thread, and Dispatch's
    /// threads block some: such a child could not be stopped.
    package func runHearingSignals() throws {
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try run()
    }
}
