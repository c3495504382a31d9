package import ArgumentParser
import Foundation

/// Runs a command from its arguments to its exit code.
package enum CommandRunner {
    /// Parses, runs, flushes standard output and exits. Errors go to standard error. ArgumentParser's 64 becomes 2.
    package static func main<Root: ParsableCommand>(_ root: Root.Type) async -> Never {
        // A closed pipe must not end a service; the write fails instead.
        signal(SIGPIPE, SIG_IGN)
        occupyStandardDescriptors()
        raiseDescriptorLimit()
        unblock([SIGINT, SIGTERM, SIGHUP])
        let status = await run(root, Array(CommandLine.arguments.dropFirst()))
        TextOutput.standard.flush()
        guard let trouble = TextOutput.standard.trouble else { exit(status) }
        Diagnostics.error(
            "writing standard output failed: \(trouble)",
            advice: "The output is lost or truncated. Changes of the command are kept.")
        exit(status == ExitStatus.done.rawValue ? ExitStatus.failed.rawValue : status)
    }

    /// Opens closed standard descriptors. Otherwise the next opened file would get such a number.
    private static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // The direction is wrong on purpose, so that using the descriptor fails.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// The minimum number of descriptors. Below it, libdispatch ends the process without a message.
    private static let leastDescriptors: rlim_t = 32
    /// The number of descriptors for a service with many open connections.
    private static let wantedDescriptors: rlim_t = 65_536

    /// Raises the soft limit of open files up to the hard limit, and exits if that is too low.
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

    /// Unblocks signals that the parent blocked, in one thread.
    private static func unblock(_ numbers: [Int32]) {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// Like `main`, but returns the exit code.
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
            // --help and --version print to standard output. A subcommand's help lists its exit codes or the common
            // ones.
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
