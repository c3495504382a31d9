package import ArgumentParser
import Foundation
import TrackerCore

/// Runs a command from its arguments to its exit code.
package enum CommandRunner {
    /// Runs the command, flushes standard output and exits. ArgumentParser's exit code 64 becomes 2.
    /// - Parameter advice: returns the program's advice for the code of a problem.
    package static func main<Root: ParsableCommand>(
        _ root: Root.Type, advice: (_ code: String) -> String? = { _ in nil }
    ) async -> Never {
        // A write to a closed pipe must fail instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        occupyStandardDescriptors()
        raiseDescriptorLimit()
        unblock([SIGINT, SIGTERM, SIGHUP])
        let status = await run(root, Array(CommandLine.arguments.dropFirst()), advice: advice)
        TextOutput.standard.flush()
        guard let error = TextOutput.standard.writeError else { exit(status) }
        Diagnostics.error(
            "writing standard output failed: \(error)",
            advice: "The output is lost or truncated. Changes that the command made are stored.")
        exit(status == ExitStatus.done.rawValue ? ExitStatus.failed.rawValue : status)
    }

    /// Opens closed standard descriptors. Otherwise the next opened file would become, for example, standard output.
    private static func occupyStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 {
            // Use the wrong direction, so that reading or writing the descriptor fails.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// The minimum limit of open files. Below it, libdispatch aborts without a message.
    private static let minimumDescriptors: rlim_t = 32
    /// The limit of open files for a service with many connections.
    private static let serviceDescriptors: rlim_t = 65_536

    /// Raises the soft limit of open files up to the hard limit, and exits if that is too low.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, serviceDescriptors))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard limit.rlim_cur < minimumDescriptors else { return }
        Diagnostics.error(
            "cannot start: the limit of open files is \(limit.rlim_cur), at least \(minimumDescriptors) are needed",
            advice: "Raise the limit: ulimit -n 1024")
        exit(ExitStatus.failed.rawValue)
    }

    /// Unblocks signals in the calling thread, because the parent process can have blocked them.
    private static func unblock(_ numbers: [Int32]) {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// Like `main`, but returns the exit code.
    package static func run<Root: ParsableCommand>(
        _ root: Root.Type, _ arguments: [String], advice: (_ code: String) -> String? = { _ in nil }
    ) async -> Int32 {
        do {
            try checkSubcommand(arguments.first ?? "", of: root)
            var command = try root.parseAsRoot(arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            return ExitStatus.done.rawValue
        } catch {
            let failure = (error as? any Problem).map { CommandFailure($0, advice: advice($0.code)) }
            return report(failure ?? error, root)
        }
    }

    /// Rejects an unknown subcommand, which ArgumentParser reports as an argument of the default subcommand.
    private static func checkSubcommand<Root: ParsableCommand>(_ name: String, of root: Root.Type) throws {
        let names = root.configuration.subcommands.map { $0._commandName }
        guard name.first?.isLetter == true, !names.isEmpty, !(names + ["help"]).contains(name) else { return }
        throw CommandFailure(
            .wrongUse, "unknown subcommand '\(name)'", advice: "See the subcommands with: \(root._commandName) --help")
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
            // A help text without exit codes gets the common ones.
            let lacksExitCodes = text.contains("\nUSAGE: ") && !text.contains("Exit codes: ")
            if !text.isEmpty {
                TextOutput.standard.block(
                    lacksExitCodes ? text + (text.hasSuffix("\n") ? "\n" : "\n\n") + ExitStatus.wrappedHelp : text)
            }
            return ExitStatus.done.rawValue
        }
        guard !(error is ExitCode) else { return code.rawValue }
        if isWrongUse {
            // ArgumentParser writes `Error: `, unlike every other error.
            Diagnostics.block(text.hasPrefix("Error: ") ? "e" + text.dropFirst() : text)
        } else {
            Diagnostics.error(String(describing: error))
        }
        return isWrongUse ? ExitStatus.wrongUse.rawValue : ExitStatus.failed.rawValue
    }
}
