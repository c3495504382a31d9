import Replay
import ArgumentParser
import Captures
import CommandSupport
import Foundation

/// The reading of captures by one subcommand: output, progress, messages and exit code.
final class CaptureRun {
    let out: LineBuffer
    /// The permissions of output files before the umask is applied.
    static let filePermissions: mode_t = 0o666
    private var progress = ProgressLine(isShown: Diagnostics.usesTerminalFeatures && isatty(STDOUT_FILENO) == 0)
    private var lastShown = 0
    /// Whether a file could not be read to its end.
    private(set) var hadErrors = false

    init() throws {
        let output = try OutputFile("-")
        out = LineBuffer { try output.write($0) }
    }

    /// Opens a capture, or all captures in an archive or directory, in order. Prints notes about skipped files.
    /// - Parameters:
    ///   - following: whether the file is still growing, so that it cannot be an archive.
    ///   - copiesPipes: whether to copy the data of a pipe, to read it several times.
    /// - Returns: the captures; empty after an error, which was printed.
    func parts(_ path: String, following: Bool = false, copiesPipes: Bool = false) throws -> [CapturePart] {
        if following { return [CapturePart(path: path)] }
        do {
            let opened = try CaptureOpener(copiesPipes: copiesPipes).open(path)
            for remark in opened.remarks { note("\(Self.name(path)): \(remark)") }
            return opened.parts
        } catch let error as CaptureError {
            report("\(Self.name(path)): \(error)")
            return []
        }
    }

    /// Opens several files. The files of one recorder's log are sorted by time.
    func parts(_ paths: [String], following: Bool = false) throws -> [CapturePart] {
        CaptureOpener.sorted(try paths.flatMap { try parts($0, following: following) })
    }

    /// Throws if the output file is also an input, because writing would destroy the input.
    static func checkOutputIsNotInput(_ output: String, _ inputs: [String]) throws {
        guard output != "-", inputs.contains(where: { isSame($0, output) }) else { return }
        throw CommandFailure(
            .wrongUse, "input and output are the same file: \(output)",
            advice: "Choose another output file. Nothing was changed.")
    }

    private static func isSame(_ one: String, _ other: String) -> Bool {
        var first = stat(), second = stat()
        return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev
            && first.st_ino == second.st_ino
            && first.st_mode & S_IFMT == S_IFREG
    }

    static func name(_ path: String) -> String { path == "-" ? "standard input" : path }
    static func outputName(_ path: String) -> String { path == "-" ? "standard output" : path }

    /// Reads one capture. If its bytes have an error, prints the error after the output of the data before it.
    /// - Parameter reportsTruncation: whether to also print the reason if only a part was unpacked.
    /// - Returns: whether the capture was read to its end.
    @discardableResult
    func read(_ part: CapturePart, reportsTruncation: Bool = true, _ body: (inout CaptureFile) throws -> Void) throws
        -> Bool
    {
        var file = CaptureFile(part)
        file.onProgress = { [self] read, size in showProgress(part.name, read, size) }
        defer { progress.clear() }
        do {
            try body(&file)
        } catch let error as CaptureError {
            progress.clear()
            // A capture that was not completely unpacked looks truncated: print the error of unpacking.
            let unpackingError = error.kind == .truncated ? part.readingError : nil
            report("\(part.name): \(unpackingError ?? error.description)")
            return false
        } catch is OutputFile.ReaderClosed {
            return true
        } catch let error as CaptureFileError {
            progress.clear()
            throw CommandFailure(
                Self.isDirectory(part.path) ? .badInput : .failed,
                CaptureFileError(path: part.name, sentence: error.sentence).description)
        }
        if let sentence = file.info.skippedLinesMessage {
            // A text without packets is not a capture, so this is an error.
            if file.info.packets == 0 {
                report("\(part.name): \(sentence)")
            } else {
                note("\(part.name): \(sentence)")
            }
        }
        guard reportsTruncation, let readingError = part.readingError else { return true }
        progress.clear()
        report("\(part.name): \(readingError); everything before it was read")
        return false
    }

    /// Reads one capture. With `following`, also reads added data and replaced files, until the output is closed.
    @discardableResult
    func read(_ part: CapturePart, following: Bool, _ body: (inout CaptureFile) throws -> Void) throws -> Bool {
        guard following else { return try read(part, body) }
        while true {
            let growth = FileGrowth(part.path, output: STDOUT_FILENO)
            growth.onWait = { [self] in
                progress.clear()
                try out.flush()
            }
            let isWhole = try read(part) { file in
                file.growth = growth
                try body(&file)
            }
            switch growth.end {
            case .replaced?: note("\(part.name) was replaced: reading from the start")
            case .truncated(let size)?: note("\(part.name) was truncated to \(size) bytes: reading from the start")
            case .grown?, .outputClosed?, nil: return isWhole
            }
        }
    }

    /// Prints a note for the user as one line on standard error.
    func note(_ sentence: String) {
        try? out.flush()
        progress.clear()
        Diagnostics.line(sentence)
    }

    /// Prints an error of a file as one line on standard error, and sets the exit code.
    func report(_ sentence: String) {
        hadErrors = true
        try? out.flush()
        Diagnostics.error(sentence)
    }

    /// Throws if the output cannot be written, for example because its reader has ended (`| head`).
    func checkOutput() throws {
        if out.hasFailed { try out.flush() }
    }

    /// Flushes the output and ends the command; exit code 4 after an error of a file.
    func finish() throws {
        do {
            try out.flush()
        } catch is OutputFile.ReaderClosed {
            // A closed output (`| head`) is not an error.
        }
        if hadErrors { throw ExitCode(ExitStatus.badInput.rawValue) }
    }

    private func showProgress(_ name: String, _ read: Int, _ size: Int?) {
        guard read - lastShown >= 4_000_000 || read < lastShown else { return }
        lastShown = read
        let megabytes = read / 1_000_000
        if let size, size > 0 {
            progress.show("\(name): \(read * 100 / size) % of \(size / 1_000_000) MB")
        } else {
            progress.show("\(name): \(megabytes) MB")
        }
    }

    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}
