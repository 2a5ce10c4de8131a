import type { DocumentNode } from 'graphql';
import type { z } from 'zod';
import { categoryPatch, newCategory } from '../../domains/category/category.rules.ts';
import { inventoryUpdate } from '../../domains/inventory/inventory.rules.ts';
import { restNotation } from '../../domains/notation.ts';
import { newOrder, orderPatch } from '../../domains/order/order.rules.ts';
import { newPet, petPatch, petStatus } from '../../domains/pet/pet.rules.ts';
import type { Kind } from '../../errors.ts';
import * as documents from './documents.generated.ts';
import type { QueryParameterName } from './parameters.ts';
import type { ShapeName } from './shapes.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Stability = 'stable' | 'beta' | 'experimental';
export type PathParameterName = 'petId' | 'categoryId' | 'orderId';

/** A request body: its name in the specification, its rules, and the mutation input made of it. */
export interface Body {
  name: string;
  rules: z.ZodType<object>;
  /** Full replacement: what the body leaves out is removed. */
  toInput?: (body: never) => object;
  /** The field of the body that may repeat the id of the path. */
  ownId?: 'id' | 'petId';
  /** Fields of the resource that the body may repeat as they are, so that what a GET gave can be put back. */
  mirrors?: readonly string[];
}

/**
 * One REST operation. The table of these is all there is to say about REST: the router, the handler, the OpenAPI
 * description and the tests run over it.
 */
export interface Route {
  operationId: string;
  method: Method;
  /** As OpenAPI writes it, relative to the base path. */
  path: `/${string}`;
  tag: 'Pets' | 'Store';
  stability: Stability;
  summary: string;
  document: DocumentNode;
  /** What is missing when there is nothing to answer with. */
  kind: Kind;
  status: 200 | 201 | 204;
  /** Missing where the answer has no body. */
  shape?: ShapeName;
  list?: true;
  pathParameter?: PathParameterName;
  query?: readonly QueryParameterName[];
  body?: Body;
  /** The operation whose document answers an empty merge patch. */
  unchanged?: DocumentNode;
  /** Past its deprecation date, with a sunset date (contract section 6). */
  deprecated?: true;
  /** The try-it panel of the documentation is disabled for it. */
  explorer?: false;
}

const d = documents;
const rest = restNotation;

/** PUT replaces: optional fields that the body leaves out are removed. */
const replaceCategory = (category: { name: string; description?: string }) => ({
  name: category.name,
  description: category.description ?? null,
});
const replaceOrder = (order: {
  petId?: string;
  quantity?: number;
  shipDate?: string;
  complete: boolean;
}) => ({
  petId: order.petId ?? null,
  quantity: order.quantity ?? null,
  shipDate: order.shipDate ?? null,
  complete: order.complete,
});

/** An inventory entry's status is the pet's own: it can be repeated here, not set. */
const inventoryBody = inventoryUpdate().extend({ status: petStatus().optional() });
const stockOf = ({ quantity }: { quantity?: number }) => (quantity === undefined ? {} : { quantity });

export const ROUTES: readonly Route[] = [
  {
    operationId: 'listPets',
    method: 'GET',
    path: '/pets',
    tag: 'Pets',
    stability: 'stable',
    summary: 'List pets',
    document: d.ListPetsDocument,
    kind: 'pet',
    status: 200,
    shape: 'Pet',
    list: true,
    query: ['status', 'categoryId', 'limit', 'after'],
  },
  {
    operationId: 'createPet',
    method: 'POST',
    path: '/pets',
    tag: 'Pets',
    stability: 'stable',
    summary: 'Create a pet',
    document: d.CreatePetDocument,
    kind: 'pet',
    status: 201,
    shape: 'Pet',
    body: { name: 'NewPet', rules: newPet(rest) },
  },
  {
    operationId: 'getPet',
    method: 'GET',
    path: '/pets/{petId}',
    tag: 'Pets',
    stability: 'stable',
    summary: 'Get a pet',
    document: d.GetPetDocument,
    kind: 'pet',
    status: 200,
    shape: 'Pet',
    pathParameter: 'petId',
    deprecated: true,
  },
  {
    operationId: 'replacePet',
    method: 'PUT',
    path: '/pets/{petId}',
    tag: 'Pets',
    stability: 'stable',
    summary: 'Replace a pet',
    document: d.UpdatePetDocument,
    kind: 'pet',
    status: 200,
    shape: 'Pet',
    pathParameter: 'petId',
    body: { name: 'NewPet', rules: newPet(rest), ownId: 'id' },
  },
  {
    operationId: 'updatePet',
    method: 'PATCH',
    path: '/pets/{petId}',
    tag: 'Pets',
    stability: 'beta',
    summary: 'Change a pet',
    document: d.UpdatePetDocument,
    kind: 'pet',
    status: 200,
    shape: 'Pet',
    pathParameter: 'petId',
    body: { name: 'PetPatch', rules: petPatch(rest), ownId: 'id' },
    unchanged: d.GetPetDocument,
  },
  {
    operationId: 'deletePet',
    method: 'DELETE',
    path: '/pets/{petId}',
    tag: 'Pets',
    stability: 'stable',
    summary: 'Delete a pet',
    document: d.DeletePetDocument,
    kind: 'pet',
    status: 204,
    pathParameter: 'petId',
  },
  {
    operationId: 'listCategories',
    method: 'GET',
    path: '/categories',
    tag: 'Pets',
    stability: 'stable',
    summary: 'List categories',
    document: d.ListCategoriesDocument,
    kind: 'category',
    status: 200,
    shape: 'Category',
    list: true,
    query: ['limit', 'after'],
  },
  {
    operationId: 'createCategory',
    method: 'POST',
    path: '/categories',
    tag: 'Pets',
    stability: 'stable',
    summary: 'Create a category',
    document: d.CreateCategoryDocument,
    kind: 'category',
    status: 201,
    shape: 'Category',
    body: { name: 'NewCategory', rules: newCategory(rest) },
  },
  {
    operationId: 'getCategory',
    method: 'GET',
    path: '/categories/{categoryId}',
    tag: 'Pets',
    stability: 'stable',
    summary: 'Get a category',
    document: d.GetCategoryDocument,
    kind: 'category',
    status: 200,
    shape: 'Category',
    pathParameter: 'categoryId',
  },
  {
    operationId: 'replaceCategory',
    method: 'PUT',
    path: '/categories/{categoryId}',
    tag: 'Pets',
    stability: 'stable',
    summary: 'Replace a category',
    document: d.UpdateCategoryDocument,
    kind: 'category',
    status: 200,
    shape: 'Category',
    pathParameter: 'categoryId',
    body: { name: 'NewCategory', rules: newCategory(rest), toInput: replaceCategory, ownId: 'id' },
  },
  {
    operationId: 'updateCategory',
    method: 'PATCH',
    path: '/categories/{categoryId}',
    tag: 'Pets',
    stability: 'beta',
    summary: 'Change a category',
    document: d.UpdateCategoryDocument,
    kind: 'category',
    status: 200,
    shape: 'Category',
    pathParameter: 'categoryId',
    body: { name: 'CategoryPatch', rules: categoryPatch(), ownId: 'id' },
    unchanged: d.GetCategoryDocument,
  },
  {
    operationId: 'deleteCategory',
    method: 'DELETE',
    path: '/categories/{categoryId}',
    tag: 'Pets',
    stability: 'stable',
    summary: 'Delete a category',
    document: d.DeleteCategoryDocument,
    kind: 'category',
    status: 204,
    pathParameter: 'categoryId',
  },
  {
    operationId: 'listPetsOfCategory',
    method: 'GET',
    path: '/categories/{categoryId}/pets',
    tag: 'Pets',
    stability: 'experimental',
    summary: 'List the pets of a category',
    document: d.ListPetsOfCategoryDocument,
    kind: 'category',
    status: 200,
    shape: 'Pet',
    list: true,
    pathParameter: 'categoryId',
    query: ['status', 'limit', 'after'],
  },
  {
    operationId: 'listOrders',
    method: 'GET',
    path: '/store/orders',
    tag: 'Store',
    stability: 'stable',
    summary: 'List orders',
    document: d.ListOrdersDocument,
    kind: 'order',
    status: 200,
    shape: 'Order',
    list: true,
    explorer: false,
    query: ['petId', 'complete', 'limit', 'after'],
  },
  {
    operationId: 'createOrder',
    method: 'POST',
    path: '/store/orders',
    tag: 'Store',
    stability: 'stable',
    summary: 'Create an order',
    document: d.CreateOrderDocument,
    kind: 'order',
    status: 201,
    shape: 'Order',
    body: { name: 'NewOrder', rules: newOrder(rest) },
  },
  {
    operationId: 'getOrder',
    method: 'GET',
    path: '/store/orders/{orderId}',
    tag: 'Store',
    stability: 'stable',
    summary: 'Get an order',
    document: d.GetOrderDocument,
    kind: 'order',
    status: 200,
    shape: 'Order',
    pathParameter: 'orderId',
  },
  {
    operationId: 'replaceOrder',
    method: 'PUT',
    path: '/store/orders/{orderId}',
    tag: 'Store',
    stability: 'stable',
    summary: 'Replace an order',
    document: d.UpdateOrderDocument,
    kind: 'order',
    status: 200,
    shape: 'Order',
    pathParameter: 'orderId',
    body: { name: 'NewOrder', rules: newOrder(rest), toInput: replaceOrder, ownId: 'id' },
  },
  {
    operationId: 'updateOrder',
    method: 'PATCH',
    path: '/store/orders/{orderId}',
    tag: 'Store',
    stability: 'beta',
    summary: 'Change an order',
    document: d.UpdateOrderDocument,
    kind: 'order',
    status: 200,
    shape: 'Order',
    pathParameter: 'orderId',
    body: { name: 'OrderPatch', rules: orderPatch(rest), ownId: 'id' },
    unchanged: d.GetOrderDocument,
  },
  {
    operationId: 'deleteOrder',
    method: 'DELETE',
    path: '/store/orders/{orderId}',
    tag: 'Store',
    stability: 'stable',
    summary: 'Delete an order',
    document: d.DeleteOrderDocument,
    kind: 'order',
    status: 204,
    pathParameter: 'orderId',
  },
  {
    operationId: 'listInventory',
    method: 'GET',
    path: '/store/inventory',
    tag: 'Store',
    stability: 'stable',
    summary: 'List the inventory',
    document: d.ListInventoryDocument,
    kind: 'pet',
    status: 200,
    shape: 'InventoryItem',
    list: true,
    query: ['status', 'limit', 'after'],
  },
  {
    operationId: 'getInventoryItem',
    method: 'GET',
    path: '/store/inventory/{petId}',
    tag: 'Store',
    stability: 'stable',
    summary: 'Get the inventory entry of a pet',
    document: d.GetInventoryItemDocument,
    kind: 'pet',
    status: 200,
    shape: 'InventoryItem',
    pathParameter: 'petId',
  },
  {
    operationId: 'replaceInventory',
    method: 'PUT',
    path: '/store/inventory/{petId}',
    tag: 'Store',
    stability: 'stable',
    summary: 'Set the stock of a pet',
    document: d.UpdateInventoryDocument,
    kind: 'pet',
    status: 200,
    shape: 'InventoryItem',
    pathParameter: 'petId',
    body: {
      name: 'InventoryUpdate',
      rules: inventoryBody,
      toInput: stockOf,
      mirrors: ['status'],
      ownId: 'petId',
    },
  },
  {
    operationId: 'updateInventory',
    method: 'PATCH',
    path: '/store/inventory/{petId}',
    tag: 'Store',
    stability: 'beta',
    summary: 'Change the stock of a pet',
    document: d.UpdateInventoryDocument,
    kind: 'pet',
    status: 200,
    shape: 'InventoryItem',
    pathParameter: 'petId',
    body: {
      name: 'InventoryPatch',
      rules: inventoryBody.partial(),
      toInput: stockOf,
      mirrors: ['status'],
      ownId: 'petId',
    },
    unchanged: d.GetInventoryItemDocument,
  },
];
