import Foundation
@testable import WebServer
import Hummingbird
import Testing

@Suite struct DescriptionTests {
    @Test func `the OpenAPI description has every route and no other`() throws {
        let file = try #require(PageFile.named("openapi.json"))
        let description = try #require(
            try JSONSerialization.jsonObject(with: Data(file.bytes.readableBytesView)) as? [String: Any])
        let paths = try #require(description["paths"] as? [String: [String: Any]])
        let told = Set(paths.flatMap { path, methods in methods.keys.map { "\($0.uppercased()) \(path)" } })
        let routes = HTTPServer.routes.flatMap { path, methods -> [String] in
            guard path.hasPrefix("/api/v1/"), !path.hasSuffix("openapi.json") else {
                return []
            }
            let parts = path.dropFirst("/api/v1".count).split(separator: "/").map {
                $0.hasPrefix(":") ? "{\($0.dropFirst())}" : String($0)
            }
            return methods.map { "\($0.rawValue) /\(parts.joined(separator: "/"))" }
        }
        #expect(told.symmetricDifference(routes).sorted() == [])
    }

    @Test func `every page file is in the program`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../Sources/CDashboard/pages"
        ).standardized
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(PageFile.all.map(\.name)) == Set(files))
        for file in PageFile.all {
            #expect(
                Array(file.bytes.readableBytesView)
                    == Array(try Data(contentsOf: folder.appendingPathComponent(file.name))),
                "\(file.name) is older in the program")
        }
    }
}
