import Captures
import Foundation
import Replay
import Support
import Testing

@Suite struct CaptureOrderTests {
    /// Records of the sample, cut anywhere into parts with a header each.
    private static func parts(_ random: inout SeededGenerator) throws -> [[UInt8]] {
        let (head, records) = try OverlapTests.btsnoop(CaptureOpenerTests.sample.path)
        let cuts = (0..<Int.random(in: 1...6, using: &random)).map { _ in
            Int.random(in: 1..<records.count, using: &random)
        }
        let places = [0] + Set(cuts).sorted() + [records.count]
        return zip(places, places.dropFirst()).map { head + records[$0..<$1].joined() }
    }

    private static func drinks(_ paths: [String]) throws -> [String] {
        let parts = CaptureOpener.sorted(try paths.flatMap { try CaptureOpener().open($0).parts })
        return try withExtendedLifetime(parts) { try OverlapTests.drinks(parts.map(\.path)) }
    }

    enum Way: String, CaseIterable { case zip, tar, folder, arguments }

    @Test(arguments: Way.allCases, 1...10)
    func `parts of a capture with random names give the drinks of the whole capture`(way: Way, seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let whole = try Self.drinks([CaptureOpenerTests.sample.path])
        #expect(whole.count == 40)
        var members: [(String, [UInt8])] = []
        for part in try Self.parts(&random).shuffled(using: &random) {
            let folder = ["", "a/", "b/c/"].randomElement(using: &random) ?? ""
            members.append(("\(folder)log_\(UInt32.random(in: 0 ... .max, using: &random)).cfa", part))
        }
        let folder = try TemporaryFolder()
        var paths = [folder.file("input")]
        switch way {
        case .zip: try folder.write("input", await CaptureOpenerTests.zip(members))
        case .tar: try folder.write("input", await CaptureOpenerTests.tar(members, mode: "w:gz"))
        case .folder, .arguments:
            for (name, bytes) in members {
                let place = folder.url("input/" + name)
                try FileManager.default.createDirectory(
                    at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(bytes).write(to: place)
            }
            if way == .arguments { paths = members.map { folder.file("input/" + $0.0) } }
        }
        #expect(try Self.drinks(paths) == whole, "seed \(seed)")
    }

    @Test func `a directory without captures is rejected`() throws {
        let folder = try TemporaryFolder()
        try folder.write("readme.txt", "hello\n".utf8)
        #expect(throws: CaptureError.self) { try CaptureOpener().open(folder.path) }
        #expect(throws: CaptureError.self) { try CaptureOpener().open("/") }
    }
}
