import Foundation

/// The rows of one list of a file in `Tests/Vectors` (see its README).
package func testVectors<Row: Decodable>(_ list: String, in file: String) throws -> [Row] {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let data = try Data(contentsOf: tests.appending(path: "Vectors/\(file)"))
    guard let lists = try JSONSerialization.jsonObject(with: data) as? [String: [Any]], let rows = lists[list] else {
        throw CocoaError(.fileReadCorruptFile, userInfo: [NSLocalizedDescriptionKey: "\(file) has no list \(list)"])
    }
    return try JSONDecoder().decode([Row].self, from: JSONSerialization.data(withJSONObject: rows))
}
