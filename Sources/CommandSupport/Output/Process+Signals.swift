import Foundation

extension Process {
    /// Starts the process with no blocked signals. A child inherits the signal mask of its starting thread, and
    /// Dispatch's threads block signals that must stop the child.
    package func runHearingSignals() throws {
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try run()
    }
}
