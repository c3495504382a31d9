import CommandKit
import Escaping
import Foundation

/// A program that a rehearsal starts and may kill. It ends with this program, however that ends, and the folder goes
/// with it. Its process is used by one task at a time.
final class RehearsalChild: @unchecked Sendable {
    private let shell = Process()
    private let log: String
    private let number: String

    /// - Parameters:
    ///   - command: a shell's words for one program.
    ///   - name: of its files in the folder: NAME.log and NAME.pid.
    init(_ command: String, name: String, in folder: String) throws {
        (log, number) = ("\(folder)/\(name).log", "\(folder)/\(name).pid")
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = [
            "-c",
            """
            \(command) >\(Self.quoted(log)) 2>&1 & child=$!
            echo $child >\(Self.quoted(number))
            ( trap '' INT TERM HUP; cd /; while kill -0 \(getpid()) && kill -0 $$ && kill -0 $child; do sleep 0.2; done
            kill -INT $child; left=50; while kill -0 $child && [ $left -gt 0 ]; do left=$((left - 1)); sleep 0.2; \
            done; kill -KILL $child
            kill -0 \(getpid()) || rm -rf \(Self.quoted(folder)) ) 2>/dev/null &
            wait $child
            """,
        ]
        (shell.standardInput, shell.standardOutput, shell.standardError) = (
            FileHandle.nullDevice, FileHandle.nullDevice, FileHandle.nullDevice
        )
        try shell.runHearingSignals()
    }

    /// As one word of a shell.
    static func quoted(_ text: String) -> String { "'" + Escaping.replacing(text, ["'": "'\\''"]) + "'" }

    var isRunning: Bool { shell.isRunning }

    /// What it said, both streams.
    var words: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// The most memory that it had, in kB, as the kernel counted it.
    var peak: Int? {
        guard let process, let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) else {
            return nil
        }
        return status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }.flatMap { Int($0.filter(\.isNumber)) }
    }

    private var process: Int32? {
        guard isRunning, let text = try? String(contentsOfFile: number, encoding: .utf8) else { return nil }
        return Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)).flatMap { $0 > 1 ? $0 : nil }
    }

    /// Waits for something, as long as it runs and the limit is not reached.
    func wait<Result>(seconds: Double, _ look: () -> Result?) async throws -> Result {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end, isRunning {
            if let found = look() { return found }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw CommandFailure(
            .failed,
            "What the rehearsal needs did not start: \(words.split(separator: "\n").last ?? "it said nothing").")
    }

    /// Ends it without asking.
    func kill() async throws { try await end(SIGKILL) }

    /// Asks it to end, and does so where it does not.
    func stop() async throws { try await end(SIGINT) }

    private func end(_ signal: Int32) async throws {
        if let process { Glibc.kill(process, signal) }
        let limit = ContinuousClock.now + .seconds(20)
        while isRunning, ContinuousClock.now < limit { try await Task.sleep(for: .milliseconds(20)) }
        guard isRunning else { return }
        // Its watcher ends what the shell leaves.
        shell.terminate()
        throw CommandFailure(.failed, "What the rehearsal started does not end.")
    }
}
