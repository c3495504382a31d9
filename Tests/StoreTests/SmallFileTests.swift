import Foundation
import Support
import Testing

@testable import Store

@Suite struct SmallFileTests {
    @Test(.timeLimit(.minutes(20))) func `only a regular file can be read`() throws {
        let folder = try TemporaryFolder()
        func words(_ name: String) -> String? {
            do {
                _ = try SmallFile.read(name, limit: 100)
                return nil
            } catch { return error.reason }
        }
        try Data("abc".utf8).write(to: folder.url("file"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link"), withDestinationPath: folder.file("file"))
        for name in ["file", "link"] { #expect(try SmallFile.read(folder.file(name), limit: 100) == Data("abc".utf8)) }
        #expect(try SmallFile.read(folder.file("file"), limit: 2) == Data("ab".utf8))
        try Data().write(to: folder.url("empty"))
        #expect(try SmallFile.read(folder.file("empty"), limit: 2).isEmpty)
        mkfifo(folder.file("pipe"), 0o600)
        #expect(words(folder.file("pipe")) == "is a pipe, which might never end")
        #expect(words(folder.path) == "is a directory")
        #expect(words("/dev/zero") == "is a device")
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: folder.file("s").utf8.prefix(107)) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if isBound == 0 { #expect(words(folder.file("s")) == "is a socket") }
        #expect(words(folder.file("none"))?.contains("No such file") == true)
    }
}
