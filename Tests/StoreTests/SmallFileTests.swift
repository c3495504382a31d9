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
        if withUnixAddress(folder.file("s"), { bind(socket, $0, $1) }) == 0 {
            #expect(words(folder.file("s")) == "is a socket")
        }
        #expect(words(folder.file("none"))?.contains("No such file") == true)
    }
}
