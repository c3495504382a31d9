import Replay
import ArgumentParser
import Captures
import CommandSupport
import Foundation

/// One run over captures: output, progress, and what to say at the end.
final class CaptureRun {
    /// Standard output.
    let out: LineBuffer
    /// What it writes is for everybody, as the umask allows: a capture is no diary.
    static let mode: mode_t = 0o666
    private var progress = ProgressLine(isShown: Diagnostics.isLively && isatty(STDOUT_FILENO) == 0)
    private var lastShown = 0
    /// A file could not be read to its end.
    private(set) var hadTrouble = false

    init() {
        out = LineBuffer { try Self.write($0) }
    }

    /// Opens what the user named: a capture, or everything that is packed in it, in order. What was left out is said.
    /// - Parameter following: it still grows, and so it is not packed.
    /// - Returns: nothing where nothing can be read of it; that was said, then.
    func parts(_ path: String, following: Bool = false) throws -> [CapturePart] {
        if following { return [CapturePart(path: path)] }
        do {
            let opened = try CaptureOpener().open(path)
            for remark in opened.remarks { note("\(Self.name(path)): \(remark)") }
            return opened.parts
        } catch let error as CaptureError {
            report("\(Self.name(path)): \(error)")
            return []
        } catch let error as CaptureFileError {
            throw CommandFailure(.failed, error.description)
        }
    }

    /// Opens everything that the user named, the parts of one recorder's log in the order of their times.
    func parts(_ paths: [String], following: Bool = false) throws -> [CapturePart] {
        CaptureOpener.sorted(try paths.flatMap { try parts($0, following: following) })
    }

    /// What is read is never written over: it may be all that somebody has.
    static func refuse(writing output: String, over inputs: [String]) throws {
        guard output != "-", let same = inputs.first(where: { isSame($0, output) }) else { return }
        throw CommandFailure(.wrongUse, "\(same) and \(output) are one file", advice: "Name another file to write.")
    }

    private static func isSame(_ one: String, _ other: String) -> Bool {
        var first = stat(), second = stat()
        return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev
            && first.st_ino == second.st_ino
            && first.st_mode & S_IFMT == S_IFREG
    }

    static func name(_ path: String) -> String { path == "-" ? "standard input" : path }

    /// Reads one capture. Trouble with its bytes is said in one line, after everything before it was written; other
    /// files may follow.
    /// - Parameter tellsEnd: whether to say, too, why unpacking ended early.
    /// - Returns: whether it was read to its end.
    @discardableResult
    func read(_ part: CapturePart, tellsEnd: Bool = true, _ body: (inout CaptureFile) throws -> Void) throws -> Bool {
        var file = CaptureFile(path: part.path)
        file.onProgress = { [self] read, size in show(part.name, read, size) }
        defer { progress.clear() }
        do {
            try body(&file)
        } catch let error as CaptureError {
            progress.clear()
            // What was packed ends where unpacking ended.
            report("\(part.name): \(error.kind == .cut ? part.trouble ?? error.description : error.description)")
            return false
        } catch is OutputFile.NobodyReads {
            return true
        } catch let error as CaptureFileError {
            progress.clear()
            throw CommandFailure(
                Self.isDirectory(part.path) ? .badInput : .failed,
                CaptureFileError(path: part.name, sentence: error.sentence).description)
        }
        if let sentence = file.facts.passedSentence {
            // Text of which nothing was understood is not a capture without drinks.
            if file.facts.packets == 0 {
                report("\(part.name): \(sentence)")
            } else {
                note("\(part.name): \(sentence)")
            }
        }
        guard tellsEnd, let trouble = part.trouble else { return true }
        progress.clear()
        report("\(part.name): \(trouble); everything before it was read")
        return false
    }

    /// Reads one capture, and while it is followed whatever is added to it or takes its place, until nobody reads the
    /// output.
    @discardableResult
    func read(_ part: CapturePart, following: Bool, _ body: (inout CaptureFile) throws -> Void) throws -> Bool {
        guard following else { return try read(part, body) }
        while true {
            let growth: FileGrowth
            do {
                growth = try FileGrowth(part.path, output: STDOUT_FILENO)
            } catch {
                throw CommandFailure(.failed, error.description)
            }
            growth.onWait = { [self] in
                progress.clear()
                try out.flush()
            }
            let isWhole = try read(part) { file in
                file.growth = growth
                try body(&file)
            }
            switch growth.end {
            case .replaced?: note("\(part.name) is another file now: it is read from its beginning")
            case .overwritten?: note("\(part.name) was written anew: it is read from its beginning")
            case .cut(let size)?: note("\(part.name) was cut to \(size) bytes: it is read from its beginning")
            case .grown?, .unread?, nil: return isWhole
            }
        }
    }

    /// Says something that a person should know, in one line on standard error.
    func note(_ sentence: String) {
        try? out.flush()
        progress.clear()
        Diagnostics.line(sentence)
    }

    /// Says in one line on standard error what is wrong with a file, in the right place of the output.
    func report(_ sentence: String) {
        hadTrouble = true
        try? out.flush()
        Diagnostics.error(sentence)
    }

    /// Ends the reading early when nobody reads the output any more (`| head`), or it cannot be written.
    func checkOutput() throws {
        if out.hasFailed { try out.flush() }
    }

    /// Writes what is left and ends the command; exit code 4 after trouble with a file.
    func finish() throws {
        do {
            try out.flush()
        } catch is OutputFile.NobodyReads {
            // Nobody reads any more (`| head`): that is no failure.
        }
        if hadTrouble { throw ExitCode(ExitStatus.badInput.rawValue) }
    }

    private func show(_ name: String, _ read: Int, _ size: Int?) {
        guard read - lastShown >= 4_000_000 || read < lastShown else { return }
        lastShown = read
        let megabytes = read / 1_000_000
        if let size, size > 0 {
            progress.show("\(name): \(read * 100 / size) % of \(size / 1_000_000) MB")
        } else {
            progress.show("\(name): \(megabytes) MB")
        }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private static func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(STDOUT_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                throw OutputFile.NobodyReads()
            } else if errno == EAGAIN {
                var ready = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, 1000)
            } else if errno != EINTR {
                throw CommandFailure(.failed, "standard output cannot be written: \(String(cString: strerror(errno)))")
            }
        }
    }
}
