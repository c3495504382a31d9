import ArgumentParser
import Foundation

/// Runs a command from its arguments to its exit code. Each executable's `main` is one call of this.
package enum CommandRunner {
    /// Parses, runs, flushes standard output and exits. Errors go to standard error as sentences; ArgumentParser's 64
    /// becomes 2.
    package static func main<Root: ParsableCommand>(_ root: Root.Type) async -> Never {
        // A reader that closes its pipe must not kill a service; writing then fails and is noticed.
        signal(SIGPIPE, SIG_IGN)
        occupyStandardDescriptors()
        raiseDescriptorLimit()
        unblock([SIGINT, SIGTERM, SIGHUP])
        let status = await run(root, Array(CommandLine.arguments.dropFirst()))
        TextOutput.standard.flush()
        guard let trouble = TextOutput.standard.trouble else { exit(status) }
        Diagnostics.error(
            "Standard output could not be written: \(trouble).",
            advice: "The answer is lost or cut. What the command changed is changed all the same.")
        exit(status == ExitStatus.done.rawValue ? ExitStatus.failed.rawValue : status)
    }

    /// Where a parent closed one of the three, the next file that we open would take its number, and our output would
    /// go into it.
    private static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // Each is open the wrong way round on purpose: using it fails, as if it were still closed.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Descriptors that a command needs at least. Below this number libdispatch ends the process without a message.
    private static let leastDescriptors: rlim_t = 32
    /// Enough for a service with many open connections.
    private static let wantedDescriptors: rlim_t = 65_536

    /// Raises the limit of open files as far as it may be raised, and exits where that is not enough.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, wantedDescriptors))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_cur < leastDescriptors else { return }
        Diagnostics.error(
            "cannot start: only \(limit.rlim_cur) open files are allowed, \(leastDescriptors) are needed",
            advice: "Raise the limit: ulimit -n 1024")
        exit(ExitStatus.failed.rawValue)
    }

    /// A parent that blocks signals hands that down: then nobody could ask us to end. One thread that takes them is
    /// enough.
    private static func unblock(_ numbers: [Int32]) {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// As `main`, but returns the exit code.
    package static func run<Root: ParsableCommand>(_ root: Root.Type, _ arguments: [String]) async -> Int32 {
        do {
            var command = try root.parseAsRoot(arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return ExitStatus.done.rawValue
        } catch {
            return report(error, root)
        }
    }

    private static func report<Root: ParsableCommand>(_ error: any Error, _ root: Root.Type) -> Int32 {
        if let failure = error as? CommandFailure {
            Diagnostics.error(failure.sentence, advice: failure.advice)
            return failure.status.rawValue
        }
        let code = root.exitCode(for: error)
        let text = root.fullMessage(for: error)
        let isWrongUse = code == .validationFailure
        if code.isSuccess {
            // --help and --version are answers, not diagnostics.
            // A verb's help has its own exit codes, or else those of all.
            let isBareHelp = text.contains("\nUSAGE: ") && !text.contains("Exit codes: ")
            if !text.isEmpty {
                TextOutput.standard.block(
                    isBareHelp ? text + (text.hasSuffix("\n") ? "\n" : "\n\n") + ExitStatus.wrappedHelp : text)
            }
            return ExitStatus.done.rawValue
        }
        guard !(error is ExitCode) else { return code.rawValue }
        if isWrongUse { Diagnostics.block(text) } else { Diagnostics.error(String(describing: error)) }
        return isWrongUse ? ExitStatus.wrongUse.rawValue : ExitStatus.failed.rawValue
    }
}
