import Foundation
@testable import WebServer
import Testing

/// Validates answers with `openapi.json`: the subset of JSON Schema that the file uses. Members that it does not define
/// are errors.
struct APIDescription {
    private let root: JSON

    init() throws {
        let file = try #require(PageFile.named("openapi.json"))
        root = try JSONDecoder().decode(JSON.self, from: Data(file.bytes.readableBytesView))
    }

    /// The deviations of a successful answer from the description.
    func faults(of answer: String, to method: String, _ path: String) throws -> [String] {
        let responses = try #require(
            root["paths"]?[path]?[method.lowercased()]?["responses"]?.members, "\(method) \(path) is not described")
        // 200 in addition to 201 means that the request was completed before.
        let schema = responses.filter { $0.key.hasPrefix("2") }.max { $0.key < $1.key }?.value["content"]?[
            "application/json"]?["schema"]
        return faults(
            of: try JSONDecoder().decode(JSON.self, from: Data(answer.utf8)), as: try #require(schema), at: "answer")
    }

    /// The deviations of an object from the schema with this name.
    func faults(of object: String, named name: String) throws -> [String] {
        faults(
            of: try JSONDecoder().decode(JSON.self, from: Data(object.utf8)),
            as: .members(["$ref": .text("#/components/schemas/\(name)")]), at: name)
    }

    /// The members of the schema with this name.
    func members(of name: String) -> Set<String> { Set((schema(name)?["properties"]?.members ?? [:]).keys) }

    /// The enumeration values of the schema with this name.
    func words(of name: String) -> Set<String> { Set((schema(name)?["enum"]?.items ?? []).compactMap(\.text)) }

    private func schema(_ name: String) -> JSON? { root["components"]?["schemas"]?[name] }

    private func faults(of value: JSON, as schema: JSON, at place: String) -> [String] {
        var named: Set<String> = []
        let faults = faults(of: value, as: schema, at: place, &named)
        let strange = value.members?.keys.filter { !named.contains($0) }.sorted() ?? []
        return faults + strange.map { "\(place).\($0) is not described" }
    }

    /// - Parameter named: collects the members that the schema defines, also through references.
    private func faults(of value: JSON, as schema: JSON, at place: String, _ named: inout Set<String>) -> [String] {
        if case .text(let address)? = schema["$ref"] {
            guard let target = address.dropFirst(2).split(separator: "/").reduce(root as JSON?, { $0?[String($1)] })
            else { return ["\(place): \(address) is nowhere"] }
            return faults(of: value, as: target, at: place, &named)
        }
        var faults = simpleFaults(of: value, as: schema).map { "\(place) \($0)" }
        for part in schema["allOf"]?.items ?? [] { faults += self.faults(of: value, as: part, at: place, &named) }
        if let choices = schema["anyOf"]?.items ?? schema["oneOf"]?.items {
            let tried = choices.map { choice in
                var own: Set<String> = []
                return (faults: self.faults(of: value, as: choice, at: place, &own), own)
            }
            let fits = tried.filter(\.faults.isEmpty)
            if schema["oneOf"] != nil, fits.count > 1 { faults.append("\(place) is \(fits.count) things at once") }
            if let fit = fits.first {
                named.formUnion(fit.1)
            } else {
                faults += tried.min { $0.faults.count < $1.faults.count }?.faults ?? []
            }
        }
        for (name, inner) in schema["properties"]?.members ?? [:] {
            named.insert(name)
            if let member = value[name] { faults += self.faults(of: member, as: inner, at: "\(place).\(name)") }
        }
        for case .text(let name) in schema["required"]?.items ?? [] where value.members != nil && value[name] == nil {
            faults.append("\(place).\(name) is missing")
        }
        if let inner = schema["items"] {
            for (index, item) in (value.items ?? []).enumerated() {
                faults += self.faults(of: item, as: inner, at: "\(place)[\(index)]")
            }
        }
        return faults
    }

    private func simpleFaults(of value: JSON, as schema: JSON) -> [String] {
        var faults: [String] = []
        if let type = schema["type"] {
            let types = (type.items ?? [type]).compactMap(\.text)
            if !types.contains(where: value.isA) {
                faults.append("is \(value), and not \(types.joined(separator: " or "))")
            }
        }
        if let allowed = schema["enum"]?.items, !allowed.contains(value) {
            faults.append("is \(value), which is none of \(allowed)")
        }
        if let only = schema["const"], only != value { faults.append("is \(value), and not \(only)") }
        if let number = value.number {
            if let least = schema["minimum"]?.number, number < least { faults.append("is \(number), below \(least)") }
            if let most = schema["maximum"]?.number, number > most { faults.append("is \(number), above \(most)") }
        }
        if let text = value.text {
            let formats = ["date": #"^\d{4}-\d\d-\d\d$"#, "date-time": #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"#]
            for pattern in [schema["pattern"]?.text, schema["format"]?.text.flatMap { formats[$0] }].compactMap(\.self)
            {
                if (try? Regex(pattern).firstMatch(in: text)) ?? nil == nil {
                    faults.append("is \"\(text)\", which is not \(pattern)")
                }
            }
        }
        if let items = value.items {
            if let least = schema["minItems"]?.number, Double(items.count) < least {
                faults.append("has \(items.count) items")
            }
            if let most = schema["maxItems"]?.number, Double(items.count) > most {
                faults.append("has \(items.count) items")
            }
        }
        return faults
    }

    private indirect enum JSON: Hashable, Decodable, CustomStringConvertible {
        case null
        case flag(Bool)
        case number(Double)
        case text(String)
        case items([JSON])
        case members([String: JSON])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .flag(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else if let value = try? container.decode(String.self) {
                self = .text(value)
            } else if let value = try? container.decode([JSON].self) {
                self = .items(value)
            } else {
                self = .members(try container.decode([String: JSON].self))
            }
        }

        subscript(_ name: String) -> JSON? { members?[name] }

        var members: [String: JSON]? { if case .members(let value) = self { value } else { nil } }
        var items: [JSON]? { if case .items(let value) = self { value } else { nil } }
        var text: String? { if case .text(let value) = self { value } else { nil } }
        var number: Double? { if case .number(let value) = self { value } else { nil } }

        func isA(_ type: String) -> Bool {
            switch self {
            case .null: type == "null"
            case .flag: type == "boolean"
            case .number(let value): type == "number" || (type == "integer" && value == value.rounded())
            case .text: type == "string"
            case .items: type == "array"
            case .members: type == "object"
            }
        }

        var description: String {
            switch self {
            case .null: "null"
            case .flag(let value): "\(value)"
            case .number(let value): "\(value)"
            case .text(let value): "\"\(value)\""
            case .items(let value): "\(value)"
            case .members(let value): "{\(value.keys.sorted().joined(separator: ", "))}"
            }
        }
    }
}
