import Foundation

extension ServiceSocket {
    private static let headLimit = 1 << 16

    /// Requests a file and writes it to a new private file. Throws if the file is incomplete.
    package func get(_ target: String, to file: String) throws {
        let descriptor = try request("GET \(target)", "\r\n")
        defer { close(descriptor) }
        var head = Data()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        func next() throws -> Int {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count >= 0 else { throw silent }
            return count
        }
        var end: Range<Data.Index>?
        while end == nil {
            let count = try next()
            guard count > 0, head.count < Self.headLimit else { throw silent }
            head.append(contentsOf: buffer[..<count])
            end = head.firstRange(of: Data("\r\n\r\n".utf8))
        }
        guard let end, let length = Self.length(head[..<end.lowerBound]) else { throw silent }
        guard head.starts(with: Data("HTTP/1.1 200 ".utf8)) else {
            while head.count < Self.headLimit, case let count = try next(), count > 0 {
                head.append(contentsOf: buffer[..<count])
            }
            _ = try body(of: head)
            throw silent
        }
        guard FileManager.default.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o600]),
            let copy = FileHandle(forWritingAtPath: file)
        else {
            throw CommandFailure(
                .failed, "cannot store the response in \(file)",
                advice: "Set TMPDIR to a directory with free space.")
        }
        defer { try? copy.close() }
        let first = head[end.upperBound...]
        try copy.write(contentsOf: first)
        var written = first.count
        while written < length, case let count = try next(), count > 0 {
            try copy.write(contentsOf: buffer[..<count])
            written += count
        }
        guard written == length else { throw silent }
    }

    private static func length(_ head: Data) -> Int? {
        for line in String(decoding: head, as: UTF8.self).split(separator: "\r\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "content-length" else { continue }
            return Int(parts[1].trimmingCharacters(in: .whitespaces))
        }
        return nil
    }
}
